import { useEffect, useRef, type PointerEvent, type RefObject } from 'react';
import { moved, zoomed, type Point, type View } from './pan-zoom.ts';

/** Zoom per pixel that the wheel turns. */
const WHEEL = 0.002;
/** Pixels that a finger moves sideways to switch images. */
const SWIPE = 60;

interface PanZoomOptions {
  readonly view: View;
  readonly onView: (view: View) => void;
  /** -1: to the previous picture, 1: to the next; only while the whole picture is shown. */
  readonly onSwipe?: (by: -1 | 1) => void;
}

interface PanZoom {
  readonly ref: RefObject<HTMLDivElement | null>;
  readonly handlers: {
    readonly onPointerDown: (event: PointerEvent) => void;
    readonly onPointerMove: (event: PointerEvent) => void;
    readonly onPointerUp: (event: PointerEvent) => void;
    readonly onPointerCancel: (event: PointerEvent) => void;
  };
}

/** Wheel, pinch, drag and swipe on a box, whose CSS must have `touch-action: none`. */
export function usePanZoom({ view, onView, onSwipe }: PanZoomOptions): PanZoom {
  const ref = useRef<HTMLDivElement>(null);
  // Several events may come before the next render.
  const current = useRef(view);
  current.current = view;
  const show = (next: View) => {
    current.current = next;
    onView(next);
  };
  const shows = useRef(show);
  shows.current = show;
  const fingers = useRef(new Map<number, Point>());
  const start = useRef<Point | null>(null);

  // React's own listener is passive, so the page would scroll as well.
  useEffect(() => {
    const box = ref.current;
    if (box === null) return;
    const turn = (event: WheelEvent) => {
      event.preventDefault();
      const lines = event.deltaMode === WheelEvent.DOM_DELTA_LINE ? 16 : 1;
      // A pinch on a touchpad comes as small turns with Ctrl.
      const factor = Math.exp(-event.deltaY * lines * WHEEL * (event.ctrlKey ? 5 : 1));
      shows.current(zoomed(current.current, factor, pointOf(box, event)));
    };
    box.addEventListener('wheel', turn, { passive: false });
    return () => box.removeEventListener('wheel', turn);
  }, []);

  const onPointerMove = (event: PointerEvent) => {
    const box = ref.current;
    const before = fingers.current.get(event.pointerId);
    if (box === null || before === undefined) return;
    const at = { x: event.clientX, y: event.clientY };
    const [other] = [...fingers.current].flatMap(([id, finger]) => (id === event.pointerId ? [] : [finger]));
    fingers.current.set(event.pointerId, at);
    const { width, height } = box.getBoundingClientRect();
    if (other === undefined) {
      if (current.current.zoom > 1) {
        show(moved(current.current, (at.x - before.x) / width, (at.y - before.y) / height));
      }
      return;
    }
    // The middle of two fingers moves half as far as the one that moves.
    const middle = { clientX: (at.x + other.x) / 2, clientY: (at.y + other.y) / 2 };
    const factor = distance(at, other) / Math.max(1, distance(before, other));
    const along = moved(current.current, (at.x - before.x) / 2 / width, (at.y - before.y) / 2 / height);
    show(zoomed(along, factor, pointOf(box, middle)));
    start.current = null;
  };
  const onPointerUp = (event: PointerEvent) => {
    fingers.current.delete(event.pointerId);
    if (start.current === null || current.current.zoom > 1) return;
    const [dx, dy] = [event.clientX - start.current.x, event.clientY - start.current.y];
    start.current = null;
    if (Math.abs(dx) > Math.max(SWIPE, Math.abs(dy))) onSwipe?.(dx > 0 ? -1 : 1);
  };
  return {
    ref,
    handlers: {
      onPointerDown: (event) => {
        if (event.button !== 0) return;
        fingers.current.set(event.pointerId, { x: event.clientX, y: event.clientY });
        start.current = fingers.current.size === 1 ? { x: event.clientX, y: event.clientY } : null;
        event.currentTarget.setPointerCapture(event.pointerId);
      },
      onPointerMove,
      onPointerUp,
      onPointerCancel: ({ pointerId }) => {
        fingers.current.delete(pointerId);
        start.current = null;
      },
    },
  };
}

function pointOf(box: HTMLElement, { clientX, clientY }: { readonly clientX: number; readonly clientY: number }) {
  const { left, top, width, height } = box.getBoundingClientRect();
  return { x: (clientX - left) / width - 0.5, y: (clientY - top) / height - 0.5 };
}

function distance(one: Point, other: Point): number {
  return Math.hypot(one.x - other.x, one.y - other.y);
}
