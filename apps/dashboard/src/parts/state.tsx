import { Badge } from '@mantine/core';

export interface StateLook {
  readonly label: string;
  readonly color: 'gray' | 'blue' | 'green' | 'red';
}

/** How something is doing, in one word. */
export function State({ label, color }: StateLook) {
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
