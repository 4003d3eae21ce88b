import { Badge } from '@mantine/core';

export interface StateLook {
  readonly label: string;
  readonly color: 'gray' | 'amber' | 'green' | 'red';
}

/** A state in one word. */
export function State({ label, color }: StateLook) {
  return (
    <Badge data-color={color} miw="max-content" leftSection={<span className="dot" />}>
      {label}
    </Badge>
  );
}
