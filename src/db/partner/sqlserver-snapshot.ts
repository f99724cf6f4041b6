export async function openSqlserverSnapshot(_: unknown): Promise<never> {
  throw new Error('x')
}
