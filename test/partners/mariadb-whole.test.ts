import { describe } from 'vitest'
import { describeWholeReading } from '../pipeline/delta/whole-suite.ts'
import { openMariadbPartner } from './mariadb-partner.ts'

describe('a partner database of MariaDB', () => {
  describeWholeReading(openMariadbPartner)
})
