/** All orders in which pages can be loaded. */
export function ordersOf(places: number[]): number[][] {
  if (places.length < 2) return [places]
  return places.flatMap((place) => ordersOf(places.filter((other) => other !== place)).map((rest) => [place, ...rest]))
}
