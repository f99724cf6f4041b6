import { setFlagsFromString } from 'node:v8'

/**
 * Keeps the part of V8's heap where objects begin from growing further than it has while the program was loaded. What
 * passes through here in millions lives for moments: with more room it is not freed earlier, only later, and more of it is
 * moved to where only full collections free it. Measured in a first extraction: 35 to 50 MB less at the peak, and no more
 * processor time.
 */
export function boundHeap(): void {
  setFlagsFromString('--semi-space-growth-factor=1')
}
