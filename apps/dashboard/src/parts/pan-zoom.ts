/** How a picture is shown in its box. */
export interface View {
  /** 1: the whole picture fits. */
  readonly zoom: number;
  /** Shift of the picture's center from the box's, as a share of the box, so that boxes of any size show the same. */
  readonly x: number;
  readonly y: number;
}

/** A position in the box, from its center, as a share of the box: -0.5 to 0.5. */
export interface Point {
  readonly x: number;
  readonly y: number;
}

export const WHOLE: View = { zoom: 1, x: 0, y: 0 };
export const MAX_ZOOM = 8;
/** Zoom of one step of a key or button: two of them double it. */
export const STEP = Math.SQRT2;

const CENTER: Point = { x: 0, y: 0 };

/** Zooms by a factor; what is at the point stays there. */
export function zoomed(view: View, factor: number, { x, y }: Point = CENTER): View {
  const wanted = view.zoom * factor;
  // Steps back and forth don't quite lead to where they began.
  const zoom = wanted < 1.001 ? 1 : Math.min(MAX_ZOOM, wanted);
  const share = zoom / view.zoom;
  return bounded({ zoom, x: x - share * (x - view.x), y: y - share * (y - view.y) });
}

export function moved(view: View, dx: number, dy: number): View {
  return bounded({ ...view, x: view.x + dx, y: view.y + dy });
}

/** Never beyond the picture's edges. */
function bounded({ zoom, x, y }: View): View {
  const most = (zoom - 1) / 2;
  return { zoom, x: Math.min(most, Math.max(-most, x)), y: Math.min(most, Math.max(-most, y)) };
}

/** Against the whole image in its box: a percentage would be read as that of its pixels. */
export function zoomText({ zoom }: View): string {
  return zoom === 1 ? 'Fit' : `${Number(zoom.toFixed(1))}×`;
}

/** The CSS transform of a picture that fills its box. */
export function transformOf({ zoom, x, y }: View): string {
  return `translate(${x * 100}%, ${y * 100}%) scale(${zoom})`;
}
