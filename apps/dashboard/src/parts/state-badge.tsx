import { Badge } from '@mantine/core';

/** How something is doing, in a word or two. */
export interface State {
  readonly label: string;
  readonly color: 'gray' | 'blue' | 'green' | 'red';
}

export function StateBadge({ label, color }: State) {
  return (
    <Badge
      className="state"
      data-color={color}
      variant="light"
      color={color}
      tt="none"
      fw={600}
      radius="sm"
      miw="max-content"
    >
      {label}
    </Badge>
  );
}
