/** `/a/{b}` of the contract as fastify spells it. */
export function routePath(path: string): string {
  return path.replaceAll(/\{(\w+)\}/g, ':$1')
}

/** The path of a request, without its query. */
export function pathOf(url: string): string {
  return url.split('?', 1)[0] ?? url
}
