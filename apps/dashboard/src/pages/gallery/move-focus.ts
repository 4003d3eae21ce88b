/** Moves the focus from one tile to another: sideways in reading order, up and down to the nearest one. */
export function moveFocus(grid: HTMLElement, from: HTMLElement, key: string): boolean {
  const tiles = [...grid.querySelectorAll<HTMLElement>('[data-tile]')];
  const at = tiles.indexOf(from);
  const to = {
    ArrowLeft: () => tiles[at - 1],
    ArrowRight: () => tiles[at + 1],
    ArrowUp: () => nearest(from, tiles.slice(0, at).reverse(), 'top'),
    ArrowDown: () => nearest(from, tiles.slice(at + 1), 'bottom'),
    Home: () => tiles[0],
    End: () => tiles.at(-1),
  }[key];
  if (to === undefined) return false;
  to()?.querySelector<HTMLElement>('[data-open]')?.focus();
  return true;
}

/** Among the tiles of the next row in the direction, the one that is closest sideways. */
function nearest(from: HTMLElement, others: readonly HTMLElement[], side: 'top' | 'bottom'): HTMLElement | undefined {
  const here = from.getBoundingClientRect();
  const places = others.map((tile) => ({ tile, box: tile.getBoundingClientRect() }));
  const isBeyond = (box: DOMRect) => (side === 'top' ? box.bottom <= here.top + 1 : box.top >= here.bottom - 1);
  const row = places.find(({ box }) => isBeyond(box))?.box.top;
  const inRow = places.filter(({ box }) => row !== undefined && Math.abs(box.top - row) < 2);
  inRow.sort((one, other) => Math.abs(one.box.left - here.left) - Math.abs(other.box.left - here.left));
  return inRow[0]?.tile;
}
