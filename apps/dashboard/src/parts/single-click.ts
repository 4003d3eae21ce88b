import type { KeyboardEvent, MouseEvent } from 'react';

/**
 * For a button whose every click costs something: what a second click of a double click, or a key that is held down, would
 * do again is left out.
 */
export const singleClick = {
  onClick: (event: MouseEvent): void => {
    if (event.detail > 1) event.preventDefault();
  },
  onKeyDown: (event: KeyboardEvent): void => {
    // Other keys, such as Tab, may be held.
    if (event.repeat && event.key === 'Enter') event.preventDefault();
  },
};

/** The same for a button that submits no form: calls `work` for the first click only. */
export function onSingleClick(work: () => void) {
  return {
    ...singleClick,
    onClick: ({ detail }: MouseEvent): void => {
      if (detail < 2) work();
    },
  };
}
