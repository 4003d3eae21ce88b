import { Badge } from '@mantine/core';

/** A word beside a name. */
export function Mark({ children }: { readonly children: string }) {
  return (
    <Badge variant="default" size="sm" tt="none" miw="max-content">
      {children}
    </Badge>
  );
}
