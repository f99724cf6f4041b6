import type { Command } from 'commander'
import { wholeNumber } from './option-values.ts'

/** The options of `nightferry conformance`, grouped as its help shows them. */
export function addConformanceOptions(command: Command): Command {
  return command
    .optionsGroup('Service:')
    .option('--base-url <url>', 'base address, without /api (default: EXCHANGE_BASE_URL, or the configuration)')
    .option('--api-key <key>', 'others can see a command line: better EXCHANGE_API_KEY, or EXCHANGE_API_KEY_FILE')
    .option('--contract <file>', 'the wire names to check the service against (default: those in use)')
    .optionsGroup('Writing, to one hotel only:')
    .option('--group <id>', 'the group that holds its company')
    .option('--custom-identifier <id>', 'the custom property that is the identifier')
    .option('--identifier <value>', 'its value of that property')
    .option('--company <id>', 'its company, while it is not mapped')
    .option('--field-type <id>', 'a field type to send an input for (default: one of a calculator that is there)')
    .option('--year <year>', 'the reporting year that is written to (default: ten years ago)', wholeNumber(1900, 2100))
    .optionsGroup('Sandbox:')
    .option('--administration', 'also use the administration API of the sandbox; write to a hotel of its choice')
    .option('--certifier-key <key>', 'key of a profile that owns applications (default: EXCHANGE_CERTIFIER_KEY)')
    .option('--sibling-key <key>', 'another key of the same profile (default: EXCHANGE_SIBLING_KEY)')
    .optionsGroup('Time:')
    .option('--poll <ms>', 'time between two looks at unfinished tasks', wholeNumber(10, 600_000), 1000)
    .option('--task-limit <seconds>', 'how long a task may take', wholeNumber(1, 86_400), 600)
    .option('--time-limit <seconds>', 'how long everything may take', wholeNumber(1, 86_400), 1800)
}
