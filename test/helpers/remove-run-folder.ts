import { removeRunFolder } from './test-cluster.ts'

const [folder] = process.argv.slice(2)
if (folder !== undefined) await removeRunFolder(folder)
