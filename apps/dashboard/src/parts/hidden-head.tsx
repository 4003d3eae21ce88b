import { Table, VisuallyHidden } from '@mantine/core';

interface HiddenHeadProps {
  readonly w: number;
  readonly children: string;
}

/** The head of a column that needs none for who sees what is in it. */
export function HiddenHead({ w, children }: HiddenHeadProps) {
  return (
    <Table.Th w={w}>
      <VisuallyHidden>{children}</VisuallyHidden>
    </Table.Th>
  );
}
