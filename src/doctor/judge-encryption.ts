import { isLoopback } from '../config/setting-kinds.ts'
import type { Encryption } from '../partner/encryption.ts'
import { advice, type Found, ok } from './ward.ts'

/**
 * Whether what goes to a database and comes from there can be read on the way. Advice only: something else, such as a
 * tunnel or a network of containers, may protect the way. Pure.
 * @param parameter that has the connection encrypted.
 * @param variable that holds the address.
 */
export function judgeEncryption({ host, encrypted }: Encryption, parameter: string, variable: string): Found[] {
  if (encrypted) return [ok('The connection is encrypted')]
  if (host === null || isLoopback(host)) {
    return [ok('The database is on this machine, so nothing goes over a network')]
  }
  return [
    advice(
      `The connection to ${host} is not encrypted, so others on the way could read and change what goes over it`,
      `add ${parameter} to ${variable}, unless something else encrypts the way`,
    ),
  ]
}
