import { Badge } from '@mantine/core';

/** A label next to a name. */
export function Mark({ children }: { readonly children: string }) {
  return (
    <Badge size="sm" miw="max-content">
      {children}
    </Badge>
  );
}
