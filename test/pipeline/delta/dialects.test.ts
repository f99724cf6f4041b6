import { describe } from 'vitest'
import { describeDialect } from './dialect-suite.ts'
import { partners } from './partners.ts'

describe.each(partners)('a partner database, %#', describeDialect)
