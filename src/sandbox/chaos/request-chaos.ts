import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Sandbox } from '../running-sandbox.ts'
import { logRequest } from '../server/request-log.ts'
import { decideAnswerFault } from './answer-chaos.ts'
import { changeAnswers } from './change-answer.ts'
import { requestProfile } from './profiles.ts'
import { type Refusal, strikeRefusal } from './refuse-request.ts'
import { wallWait } from './send-broken.ts'
import { createOccasionOf, noteStrike } from './struck.ts'
import { forgetsTaskOf } from './task-chaos.ts'

/** Milliseconds. */
const latency = { shortest: 100, longest: 2000 }

/**
 * What strikes a request before it is looked at, its key included. When several profiles strike one request:
 * 1. latency comes first, and adds to whatever follows;
 * 2. the first of these refuses it: reset-before, unauthorised, rate-limited, server-errors, tasks-forgotten;
 * 3. whatever is to be answered then, a refusal too, is changed by all that change documents (change-answer.ts);
 * 4. and sent as the first of these has it: lost-answer, late-server-errors, garbage-answer, html-answer,
 *    stalled-answer, cut-answer, slow-bytes (answer-chaos.ts).
 * An import that none of these refuses may still be refused over its rows, once it was read (row-chaos.ts).
 * What happens in 2 to 4 is decided here, so that the line of a queued request can tell it.
 */
export function addRequestChaos(server: FastifyInstance, sandbox: Sandbox): void {
  const { chaos, clock } = sandbox
  const occasionOf = createOccasionOf(sandbox.contract)
  server.addHook('onRequest', async (request, reply) => {
    const occasion = occasionOf(request)
    if (occasion === null || chaos.active().size === 0) return
    if (chaos.strikes(requestProfile.latency.name, occasion)) {
      noteStrike(request, requestProfile.latency.name)
      const share = chaos.measure(requestProfile.latency.name, occasion)
      await wallWait(clock, latency.shortest + share * (latency.longest - latency.shortest), hangUp(reply))
      if (request.raw.socket.destroyed) return drop(sandbox, request, reply)
    }
    const refusal = strikeRefusal(sandbox, occasion) ?? (await forgetsTaskOf(sandbox, request))
    if (refusal) noteStrike(request, refusal.name)
    if (refusal && 'reset' in refusal) {
      await drop(sandbox, request, reply)
      request.raw.socket.resetAndDestroy()
      return
    }
    for (const { name } of [requestProfile.unknownFields, requestProfile.shuffledKeys]) {
      if (chaos.strikes(name, occasion)) noteStrike(request, name)
    }
    decideAnswerFault(chaos, request, occasion)
    refuse(refusal, reply)
  })
  changeAnswers(server, sandbox)
}

function refuse(refusal: Refusal | null, reply: FastifyReply): void {
  if (refusal && 'refuse' in refusal) throw refusal.refuse(reply)
}

/** Ends a request without an answer; its line has no HTTP status. */
async function drop(sandbox: Sandbox, request: FastifyRequest, reply: FastifyReply): Promise<void> {
  reply.hijack()
  await logRequest(sandbox, request, null)
}

/** Aborts when the connection is closed before an answer was given. */
function hangUp(reply: FastifyReply): AbortSignal {
  const closed = new AbortController()
  reply.raw.once('close', () => closed.abort())
  return closed.signal
}
