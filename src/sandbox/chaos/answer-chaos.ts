import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Sandbox } from '../running-sandbox.ts'
import type { Chaos } from './chaos.ts'
import { pickCase } from './profile.ts'
import { cutAnswer, requestProfile } from './profiles.ts'
import { type Ending, sendCut, sendGarbage, sendReset, sendSlowly } from './send-broken.ts'
import { noteStrike } from './struck.ts'

type Fault = 'lost' | 'late' | 'garbage' | 'html' | 'slow' | Ending
type Decided = { fault: Fault; missing: number }

const decided = new WeakMap<FastifyRequest, Decided>()

/** Decides how the answer to this request is sent: the first that strikes, in the order below. */
export function decideAnswerFault(chaos: Chaos, request: FastifyRequest, occasion: string): void {
  const { lostAnswer, lateServerErrors, garbageAnswer, htmlAnswer, stalledAnswer, slowBytes } = requestProfile
  const strike = (profile: { name: string }, fault: Fault) =>
    chaos.strikes(profile.name, occasion) ? { name: profile.name, fault } : null
  const strikeCut = () => {
    const picked = pickCase(chaos, cutAnswer, occasion)
    return picked && { name: picked.name, fault: picked.case }
  }
  const struck =
    strike(lostAnswer, 'lost') ??
    strike(lateServerErrors, 'late') ??
    strike(garbageAnswer, 'garbage') ??
    strike(htmlAnswer, 'html') ??
    strike(stalledAnswer, 'never') ??
    strikeCut() ??
    strike(slowBytes, 'slow')
  if (!struck) return
  noteStrike(request, struck.name)
  decided.set(request, { fault: struck.fault, missing: chaos.measure(struck.name, occasion) })
}

/** Sends answers as was decided. To be added behind the log, which tells what the service did, not what arrived. */
export function addAnswerChaos(server: FastifyInstance, sandbox: Sandbox): void {
  server.addHook('onSend', (request, reply, payload: unknown, done) => {
    const decision = decided.get(request)
    if (!decision || (typeof payload !== 'string' && !Buffer.isBuffer(payload))) return done(null, payload)
    const replaced = replacementFor(sandbox, decision.fault, reply)
    if (replaced !== null) return done(null, replaced)
    // Whatever was taken over is not passed on: nobody else may write to the connection.
    void send(sandbox, decision, reply, Buffer.from(payload))
  })
}

const signInPage = `<!DOCTYPE html>
<html lang="en"><head><title>Sign in</title></head><body><form method="post"><input name="user"></form></body></html>
`

/** Another answer in the place of the one that was to be sent, or null. */
function replacementFor({ contract }: Sandbox, fault: Fault, reply: FastifyReply): string | null {
  if (fault === 'html') {
    void reply.code(200).removeHeader('content-length').type('text/html; charset=utf-8')
    return signInPage
  }
  if (fault !== 'late') return null
  const { errorCode, message } = contract.names.error
  void reply.code(502).removeHeader('content-length').type('application/json; charset=utf-8')
  return JSON.stringify({ [errorCode]: 'bad_gateway', [message]: 'The answer of the service could not be passed on.' })
}

async function send(sandbox: Sandbox, { fault, missing }: Decided, reply: FastifyReply, body: Buffer): Promise<void> {
  const sending = { reply, body: [body], bytes: body.length }
  switch (fault) {
    case 'lost':
      return sendReset(reply)
    case 'garbage':
      return sendGarbage(reply)
    case 'slow':
      return sendSlowly(sending, sandbox.clock)
    case 'length':
    case 'chunked':
    case 'clean':
    case 'never':
      return sendCut(sending, 1 + Math.floor(missing * (body.length - 1)), fault)
    case 'html':
    case 'late':
      return undefined
  }
}
