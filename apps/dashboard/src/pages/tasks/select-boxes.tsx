import { Checkbox, Table } from '@mantine/core';
import type { TaskRow } from '../../api/types.ts';
import { shortPrompt } from '../../parts/format.ts';
import type { Selection } from './use-selection.ts';

interface SelectAllProps {
  readonly count: number;
  readonly selection: Selection;
}

/** The header of the checkboxes: selects every row of the list. */
export function SelectAll({ count, selection: { ids, chooseAll } }: SelectAllProps) {
  return (
    <Table.Th w={40}>
      <Checkbox
        size="md"
        aria-label="Select all listed tasks"
        checked={ids.size > 0 && ids.size === count}
        indeterminate={ids.size > 0 && ids.size < count}
        onChange={({ currentTarget }) => chooseAll(currentTarget.checked)}
      />
    </Table.Th>
  );
}

interface SelectRowProps {
  readonly task: TaskRow;
  readonly selection: Selection;
}

/** The checkbox of a row; with Shift, it selects all rows from the last one on. */
export function SelectRow({ task: { id, prompt }, selection: { ids, choose } }: SelectRowProps) {
  return (
    <Table.Td w={40}>
      <Checkbox
        size="md"
        // Above the row's link.
        className="above-row"
        aria-label={`Select ${shortPrompt(prompt) || id}`}
        checked={ids.has(id)}
        onChange={({ currentTarget, nativeEvent }) => {
          choose(id, currentTarget.checked, 'shiftKey' in nativeEvent && nativeEvent.shiftKey === true);
        }}
      />
    </Table.Td>
  );
}
