import { Problem } from './problem.ts'
import { Answer } from './route.ts'

/** A plan that is being made, or the last one that was; `made` null: it is being made. */
type Kept = { number: number; since: Date; made: { plan: unknown } | { error: unknown } | null }

/** A plan reads as much as a night does: one is made at a time, and the last is kept for those who asked. */
export class PlanDesk {
  #kept: Kept | null = null
  #numbers = 0

  /**
   * Has a plan made.
   * @returns its number, and the plan once it is made.
   * @throws {Problem} 409 while another is being made.
   */
  begin(since: Date, make: () => Promise<unknown>): { asked: Answer; plan: Promise<unknown> } {
    if (this.#kept?.made === null) {
      throw new Problem(409, 'plan_under_way', 'A plan is being made; ask again when it is.')
    }
    const kept: Kept = { number: ++this.#numbers, since, made: null }
    this.#kept = kept
    const plan = make()
    plan.then(
      (given) => {
        kept.made = { plan: given }
      },
      (error: unknown) => {
        kept.made = { error }
      },
    )
    return { asked: answerOf(kept), plan }
  }

  /**
   * The plan of a number, or that it is still being made.
   * @throws {Problem} 404 when it is not kept any more. What kept it from being made is thrown as it was.
   */
  give(number: number): unknown {
    const kept = this.#kept
    if (kept?.number !== number) {
      throw new Problem(404, 'plan_unknown', `Plan ${number} is not kept any more; ask for another.`)
    }
    if (kept.made === null) return answerOf(kept)
    if ('error' in kept.made) throw kept.made.error
    return kept.made.plan
  }
}

const answerOf = ({ number, since }: Kept) => new Answer(202, { plan: number, planning_since: since })
