import type { KeyboardEvent, MouseEvent } from 'react';

/**
 * For a button whose every click costs money: ignores the second click of a double click, and repeats of a held key.
 */
export const singleClick = {
  onClick: (event: MouseEvent): void => {
    if (event.detail > 1) event.preventDefault();
  },
  onKeyDown: (event: KeyboardEvent): void => {
    // Other keys, such as Tab, may repeat.
    if (event.repeat && event.key === 'Enter') event.preventDefault();
  },
};

/** The same for a button outside of forms: calls `work` for the first click only. */
export function onSingleClick(work: () => void) {
  return {
    ...singleClick,
    onClick: ({ detail }: MouseEvent): void => {
      if (detail < 2) work();
    },
  };
}
