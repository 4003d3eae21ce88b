import { useState } from 'react';

/** Most tasks to select one by one; the API takes no more. */
const MAX_SELECTED = 1_000;

export interface Selection {
  readonly ids: ReadonlySet<string>;
  /** Selects or deselects a row; `isRange`: with all rows from the last one on. */
  readonly choose: (id: string, isChosen: boolean, isRange: boolean) => void;
  readonly chooseAll: (isChosen: boolean) => void;
}

/** The selected ones among the shown rows. Another `list` begins with none. */
export function useSelection(shown: readonly string[], list: string): Selection {
  const [kept, setKept] = useState({ list, ids: new Set<string>(), last: '' });
  // A row that has left the list is not selected: nobody sees it any more.
  const ids = new Set(kept.list === list ? shown.filter((id) => kept.ids.has(id)) : []);
  const keep = (next: Iterable<string>, last: string) => {
    setKept({ list, ids: new Set([...next].slice(0, MAX_SELECTED)), last });
  };
  return {
    ids,
    choose: (id, isChosen, isRange) => {
      const [from, to] = [shown.indexOf(kept.last), shown.indexOf(id)].sort((a, b) => a - b);
      const range =
        isRange && kept.list === list && from !== undefined && from >= 0 ? shown.slice(from, (to ?? from) + 1) : [id];
      keep(isChosen ? [...ids, ...range] : [...ids].filter((one) => !range.includes(one)), id);
    },
    chooseAll: (isChosen) => keep(isChosen ? shown : [], ''),
  };
}
