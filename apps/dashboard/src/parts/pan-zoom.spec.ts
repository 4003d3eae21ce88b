import { MAX_ZOOM, moved, STEP, WHOLE, zoomed, type Point, type View } from './pan-zoom.ts';

/** Where in the picture a point of the box is, from the picture's center, in boxes. */
const inPicture = ({ zoom, x, y }: View, point: Point): Point => ({ x: (point.x - x) / zoom, y: (point.y - y) / zoom });

describe('the view of a picture', () => {
  it('keeps what is at the pointer where it is', () => {
    const pointer = { x: 0.2, y: -0.3 };
    const once = zoomed(WHOLE, 2, pointer);
    const twice = zoomed(once, 1.5, pointer);
    expect(twice.zoom).toBe(3);
    for (const view of [once, twice]) {
      const { x, y } = inPicture(view, pointer);
      expect(x).toBeCloseTo(0.2, 9);
      expect(y).toBeCloseTo(-0.3, 9);
    }
  });

  it('zooms no further than it may, and back to the whole from anywhere', () => {
    const far = zoomed(WHOLE, 100, { x: 0.5, y: 0.5 });
    expect(far.zoom).toBe(MAX_ZOOM);
    expect(zoomed(far, 0.001, { x: -0.5, y: 0 })).toMatchObject({ zoom: 1 });
    const { x, y } = zoomed(far, 0.001, { x: -0.5, y: 0 });
    expect([Math.abs(x), Math.abs(y)]).toEqual([0, 0]);
  });

  it('is the whole again after as many steps out as in', () => {
    const times = (factor: number) => Array.from({ length: 4 }, () => factor);
    const view = [...times(STEP), ...times(1 / STEP)].reduce((one, factor) => zoomed(one, factor), WHOLE);
    expect(view.zoom).toBe(1);
  });

  it('moves to the edges and not beyond', () => {
    expect(moved(zoomed(WHOLE, 2), 5, -5)).toEqual({ zoom: 2, x: 0.5, y: -0.5 });
    const still = moved(WHOLE, 0.3, 0.3);
    expect([still.zoom, Math.abs(still.x), Math.abs(still.y)]).toEqual([1, 0, 0]);
  });
});
