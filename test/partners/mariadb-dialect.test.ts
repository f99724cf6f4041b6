import { describe } from 'vitest'
import { describeDialect } from '../pipeline/delta/dialect-suite.ts'
import { openMariadbPartner } from './mariadb-partner.ts'

describe('a partner database of MariaDB', () => {
  describeDialect(openMariadbPartner)
})
