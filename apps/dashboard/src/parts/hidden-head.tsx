import { Table, VisuallyHidden } from '@mantine/core';

interface HiddenHeadProps {
  readonly w: number;
  readonly children: string;
}

/** A column header for screen readers only. */
export function HiddenHead({ w, children }: HiddenHeadProps) {
  return (
    <Table.Th w={w}>
      <VisuallyHidden>{children}</VisuallyHidden>
    </Table.Th>
  );
}
