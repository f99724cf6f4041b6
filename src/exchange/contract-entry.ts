import { z } from 'zod'

/** Where a wire name comes from: the specification, public clients of the service, or our assumption. */
const source = z.enum(['stated', 'public', 'assumed'])

export const endpoint = z.strictObject({
  method: z.enum(['GET', 'POST', 'PUT', 'PATCH', 'DELETE']),
  path: z.string().startsWith('/'),
  source,
})
export const name = z.strictObject({ name: z.string().min(1), source })
export const taskName = z.strictObject({ kind: z.string().min(1), requestType: z.string(), source })

/** An endpoint of the service; `path` may contain one `{placeholder}`. */
export type Endpoint = z.infer<typeof endpoint>

/** How the task of a bulk request names itself; a request type that is null there is empty here. */
export type TaskName = z.infer<typeof taskName>
