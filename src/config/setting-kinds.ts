import { z } from 'zod'

export const milliseconds = (text: string, value: number, min = 0) =>
  z.number().int().min(min).default(value).describe(`${text} Milliseconds.`)
export const count = (text: string, value: number, min: number, max: number) =>
  z.number().int().min(min).max(max).default(value).describe(text)
export const bytes = (text: string, value: number) =>
  z.number().int().min(1024).default(value).describe(`${text} Bytes.`)
export const optionalText = (text: string) => z.string().min(1).nullable().default(null).describe(text)

/** Whether a host is this very machine, on the way to which nobody listens. An IPv6 address may stand in brackets. */
export function isLoopback(host: string): boolean {
  return /^(localhost|127(\.\d{1,3}){3}|::1|\[::1\])$/.test(host)
}

/** Whether what is sent to an address cannot be read on the way, and the address holds no credentials. Pure. */
export function isConfidentialAddress(text: string): boolean {
  if (!URL.canParse(text)) return false
  const { protocol, hostname, username, password } = new URL(text)
  return (protocol === 'https:' || (protocol === 'http:' && isLoopback(hostname))) && username + password === ''
}

/** Settings that belong together; all of them have defaults, so the section can be left out. */
export const section = <T extends z.ZodRawShape>(shape: T, text: string) =>
  z
    .strictObject(shape)
    .prefault({} as never)
    .describe(text)
