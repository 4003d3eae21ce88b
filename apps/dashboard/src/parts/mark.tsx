import { Badge } from '@mantine/core';

/** A word beside a name. */
export function Mark({ children }: { readonly children: string }) {
  return (
    <Badge size="sm" miw="max-content">
      {children}
    </Badge>
  );
}
