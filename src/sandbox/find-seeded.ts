import type pg from 'pg'

/** The database holds the made-up world of another seed. `code` is stable. */
class SeedMismatch extends Error {
  readonly code = 'sandbox_seed_mismatch'
}

/** The database holds a made-up world where one of a file is wanted, or that of another file. `code` is stable. */
class WorldMismatch extends Error {
  readonly code = 'sandbox_world_mismatch'
}

/**
 * What the database was seeded with, if it was; holds other starts off until the transaction ends. `digest` is that of
 * the world file; null: the made-up world.
 * @throws {SeedMismatch} {WorldMismatch}
 */
export async function findSeeded(
  client: pg.PoolClient,
  wanted: { seed: number; digest: string | null },
): Promise<{ hotels: number } | undefined> {
  await client.query('lock table sandbox.world in share row exclusive mode')
  const { rows } = await client.query<{ seed: string; hotels: number; digest: string | null }>(
    'select seed, hotels, file_digest as digest from sandbox.world',
  )
  const [seeded] = rows
  if (!seeded) return undefined
  if (seeded.digest !== wanted.digest) {
    const made =
      seeded.digest === null ? 'is the made-up one' : 'was made from another world file, or from an earlier state of it'
    const remedy = seeded.digest === null ? 'Start without --world' : 'Start with that file'
    throw new WorldMismatch(`The world in this database ${made}. ${remedy}, or choose another database (--database).`)
  }
  // Of the world of a file the seed decides nothing but how long tasks take.
  if (wanted.digest === null && Number(seeded.seed) !== wanted.seed) {
    throw new SeedMismatch(
      `The sandbox schema of this database was made with seed ${seeded.seed}, not ${wanted.seed}. ` +
        'Start with that seed, or choose another database (--database).',
    )
  }
  return { hotels: seeded.hotels }
}
