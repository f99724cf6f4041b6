import { writeFileSync } from 'node:fs'
import { fileOf, referencePages } from './pages.ts'

// Writes the generated parts of docs/streams.md, docs/verbs.md and docs/settings.md: `npm run generate`.
for (const { path, text } of await referencePages()) writeFileSync(fileOf(path), text)
