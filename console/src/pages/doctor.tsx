import { useState } from 'preact/hooks'
import { goWith } from '../address.ts'
import { useAnswer } from '../answer.ts'
import type { DiagnoseData, ListSettingsData } from '../api-types.ts'
import { get, post } from '../client.ts'
import type { PageProps } from '../main.tsx'
import { Field, Head, Panel, Table, Waiting } from '../parts.tsx'
import { momentWords } from '../words.ts'

const signs: Record<string, [string, string]> = {
  ok: ['✓', 'well'],
  advice: ['i', 'none'],
  warning: ['!', 'needs'],
  error: ['✕', 'failed'],
}
const worst = ['error', 'warning', 'advice', 'ok']

export function Doctor({ query, may }: PageProps) {
  const known = useAnswer('settings', () => get<ListSettingsData>('/v1/settings'), 0)
  const [found, setFound] = useState<DiagnoseData | null>(null)
  const [busy, setBusy] = useState(false)
  const [error, setError] = useState<string | null>(null)
  const look = async () => {
    setBusy(true)
    setError(null)
    try {
      setFound(await post<DiagnoseData>('/v1/doctor'))
    } catch (failed) {
      setError((failed as Error).message)
    }
    setBusy(false)
  }
  const text = query.get('find') ?? ''
  const settings = (known.data?.settings ?? []).filter(({ path, value, from }) =>
    `${path} ${value} ${from}`.toLowerCase().includes(text.toLowerCase()),
  )
  const findings = found?.findings.toSorted((a, b) => worst.indexOf(a.level) - worst.indexOf(b.level)) ?? []
  return (
    <>
      <Head title="Doctor and settings" of={known} />
      <Panel
        title="What keeps a night from going well"
        aside={found === null ? undefined : <span class="small quiet">examined {momentWords(found.examined_at)}</span>}
      >
        <p class="row">
          {may === 'act' ? (
            <button type="button" class="main" disabled={busy} onClick={() => void look()}>
              {busy ? 'Examining …' : 'Examine now'}
            </button>
          ) : (
            <span class="quiet">
              An examination calls the service and the partner’s database: sign in with the token that may act.
            </span>
          )}
          <span class="quiet">It changes nothing, and takes a few seconds.</span>
        </p>
        <div role="status">{error !== null && <p class="notice failed">{error}</p>}</div>
        {found !== null && (
          <Table
            name="Findings"
            empty="Nothing was looked at."
            rows={findings}
            columns={[
              {
                name: 'Level',
                of: ({ level }) => level,
                show: ({ level }) => (
                  <span class={`mark ${signs[level]?.[1]}`}>
                    <span aria-hidden="true">{signs[level]?.[0]}</span> {level}
                  </span>
                ),
              },
              { name: 'Check', of: ({ id, subject }) => [id, subject].filter(Boolean).join(' '), kind: 'key' },
              { name: 'What is so', of: ({ what }) => what, kind: 'words' },
              { name: 'What to do', of: ({ todo }) => todo, kind: 'words' },
              { name: 'Why it matters', of: ({ why }) => why, kind: 'words' },
            ]}
          />
        )}
      </Panel>
      <Panel title="The configuration in force, without secrets">
        <div class="filters">
          <Field label="Find" value={text} onGive={(find) => goWith({ find })} />
        </div>
        {known.data === null ? (
          <Waiting of={known} />
        ) : (
          <Table
            name="Settings"
            empty="No setting has this in its name or value."
            rows={settings}
            columns={[
              { name: 'Setting', of: ({ path }) => path, kind: 'fixed' },
              { name: 'Value', of: ({ value }) => value, show: ({ value }) => <code dir="auto">{value}</code> },
              { name: 'From', of: ({ from }) => from, kind: 'key' },
              { name: 'Where', of: ({ where }) => where },
            ]}
          />
        )}
      </Panel>
    </>
  )
}
