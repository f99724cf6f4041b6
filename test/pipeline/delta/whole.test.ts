import { describe } from 'vitest'
import { partners } from './partners.ts'
import { describeWholeReading } from './whole-suite.ts'

describe.each(partners)('a partner database, %#', describeWholeReading)
