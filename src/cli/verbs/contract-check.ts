import { resolve } from 'node:path'
import {
  compareContract,
  type NameComparison,
  type Verdict,
} from '../../conformance/contract-check/compare-contract.ts'
import { readDescription } from '../../conformance/contract-check/read-description.ts'
import { readContractNames } from '../../conformance/names/open-names.ts'
import { loadContract } from '../../exchange/contract.ts'
import { type Cli, type CommonOptions, type ExitCode, exitCodes, printJson, printLine } from '../cli.ts'
import { packagedConfig, readConfig } from '../read-config.ts'
import { table } from '../show/table.ts'

export type ContractCheckOptions = CommonOptions & { openapi: string; all?: boolean }

/** `nightferry contract check`: each name of the contract beside an OpenAPI description of a deployment. */
export async function contractCheck(cli: Cli, options: ContractCheckOptions): Promise<ExitCode> {
  const { contract: named, proxy } = readConfig(cli, options).exchange
  const file = named === null ? packagedConfig('contract.yaml') : resolve(cli.workingFolder, named)
  const place = /^https?:/i.test(options.openapi) ? options.openapi : resolve(cli.workingFolder, options.openapi)
  const document = await readDescription(place, proxy, cli.signal)
  const compared = compareContract(readContractNames(file), loadContract(file), document)
  const of = (verdict: Verdict) => compared.filter((one) => one.verdict === verdict)
  const counts = {
    confirmed: of('confirmed').length,
    refuted: of('refuted').length,
    not_mentioned: of('not mentioned').length,
  }
  if (options.json) printJson(cli.stdout, { contract: file, counts, names: compared })
  else for (const line of lines(compared, options.all === true)) printLine(cli.stdout, line)
  return counts.refuted > 0 ? exitCodes.partial : exitCodes.well
}

function lines(compared: readonly NameComparison[], all: boolean): string[] {
  const titles: Record<Verdict, string> = {
    refuted: 'The description says otherwise: correct these in the contract file, or ask the service',
    'not mentioned': 'The description does not mention these',
    confirmed: 'The description confirms these',
  }
  const parts = (Object.keys(titles) as Verdict[]).flatMap((verdict) => {
    const own = compared.filter(
      (one) => one.verdict === verdict && (all || verdict === 'refuted' || one.source === 'assumed'),
    )
    if (own.length === 0) return []
    const rows = own.map(({ key, written, source, detail }) => [key, written, source, detail])
    return [titles[verdict], table(['name', 'written', 'source', 'what the description says'], rows), '']
  })
  const count = (verdict: Verdict, source?: string) =>
    compared.filter((one) => one.verdict === verdict && (source === undefined || one.source === source)).length
  const sum = (['confirmed', 'refuted', 'not mentioned'] as const)
    .map((verdict) => `${count(verdict)} ${verdict} (${count(verdict, 'assumed')} of them assumed)`)
    .join(', ')
  return [...parts, `${compared.length} names: ${sum}.`]
}
