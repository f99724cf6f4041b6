/**
 * What a ledger row says, in a few words. For people; the row key and the content in full are in the JSON.
 */
export function rowWords(stream: string, content: Readonly<Record<string, unknown>>): string {
  const text = (name: string) => (typeof content[name] === 'string' ? content[name] : null)
  const value = (name: string) => (text(name) === null ? '' : ` = ${text(name)}`)
  switch (stream) {
    case 'properties':
      return ['name', 'street', 'country_code']
        .map(text)
        .filter((part) => part !== null)
        .join(', ')
    case 'framework_answers':
      return `${period(content)} data point ${text('data_point_id') ?? '–'}${value('value')}`
    case 'omissions':
      return `${period(content)} question ${text('question_id') ?? '–'} declined`
    case 'calculator_inputs':
      return `${period(content)} ${Object.keys((content.inputs as object | undefined) ?? {}).length} inputs`
    case 'custom_property_values':
      return `property ${text('property_id') ?? '–'}${value('value')}`
    case 'standard_holders':
      return ['standard_id', 'level', 'start_date', 'expiry_date']
        .map(text)
        .filter((part) => part !== null)
        .join(' ')
    default:
      // The switches of calculators, and streams that the contract adds.
      return Object.entries(content)
        .map(([name, value]) => `${name} ${String(value)}`)
        .join(', ')
  }
}

/** 2025 for a year as a whole, 2025-03 for a month, Yearly 2025-04 for a year that begins in April. */
function period(content: Readonly<Record<string, unknown>>): string {
  const { year, month, period_type: type } = content as Record<string, string | undefined>
  if (month === undefined || (type === 'Yearly' && month === '1')) return year ?? '–'
  return `${type === 'Yearly' ? 'Yearly ' : ''}${year ?? '–'}-${month.padStart(2, '0')}`
}
