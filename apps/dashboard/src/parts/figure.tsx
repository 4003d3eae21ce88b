import { Box, Text } from '@mantine/core';
import type { ReactNode } from 'react';

/** One number with its label. */
export function Figure({ name, value }: { readonly name: string; readonly value: ReactNode }) {
  return (
    <Box className="surface" p="md">
      <Text size="sm" c="dimmed">
        {name}
      </Text>
      <Text component="div" fz={26} fw={650} lh={1.25} className="numbers">
        {value}
      </Text>
    </Box>
  );
}
