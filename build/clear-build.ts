/** The first step of `npm run build`: what a build before made of files that are gone must not be packed. */
import { rm } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'

await rm(fileURLToPath(new URL('../dist', import.meta.url)), { recursive: true, force: true })
