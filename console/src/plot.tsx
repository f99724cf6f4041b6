import { useEffect, useRef } from 'preact/hooks'
import uPlot from 'uplot'
import 'uplot/dist/uPlot.min.css'

export type Line = { name: string; values: (number | null)[]; tone: 'bar' | 'bar-quiet' }

const height = 240

/** Lines over the same steps. The numbers themselves stand in the table beside it, as exact as they came. */
export function Plot({ label, steps, lines }: { label: string; steps: string[]; lines: Line[] }) {
  const place = useRef<HTMLDivElement>(null)
  const drawn = JSON.stringify([steps, lines])
  // Drawn again when what it shows has changed.
  useEffect(() => {
    const root = place.current
    if (root === null) return
    const style = getComputedStyle(document.documentElement)
    const colour = (name: string) => style.getPropertyValue(`--${name}`)
    const axis = { stroke: colour('quiet'), grid: { stroke: colour('line'), width: 1 }, ticks: { show: false } }
    const plot = new uPlot(
      {
        width: Math.max(240, root.clientWidth),
        height,
        scales: { x: { time: false } },
        cursor: { drag: { x: false, y: false } },
        axes: [
          { ...axis, values: (_plot, splits) => splits.map((at) => steps[at] ?? '') },
          { ...axis, size: 70 },
        ],
        series: [
          { value: (_plot, at) => steps[at] ?? '' },
          ...lines.map(({ name, tone }) => ({
            label: name,
            stroke: colour(tone),
            width: tone === 'bar' ? 2 : 1.5,
            points: { show: true, size: 5 },
            ...(tone === 'bar-quiet' && { dash: [5, 4] }),
          })),
        ],
      },
      [steps.map((_step, index) => index), ...lines.map(({ values }) => values)] as uPlot.AlignedData,
      root,
    )
    const watch = new ResizeObserver(() => plot.setSize({ width: Math.max(240, root.clientWidth), height }))
    watch.observe(root)
    return () => {
      watch.disconnect()
      plot.destroy()
    }
  }, [drawn])
  return <div ref={place} role="img" aria-label={label} />
}
