import { Box, Group, Text, Title } from '@mantine/core';
import type { ReactNode } from 'react';

interface SectionTitleProps {
  readonly children: ReactNode;
  readonly about?: ReactNode;
  readonly actions?: ReactNode;
}

/** The header of a section. */
export function SectionTitle({ children, about, actions }: SectionTitleProps) {
  return (
    <Group justify="space-between" align="flex-start" gap="sm">
      <Box maw={640}>
        <Title order={2} fz="lg">
          {children}
        </Title>
        {about !== undefined && (
          <Text size="sm" c="dimmed" mt={2}>
            {about}
          </Text>
        )}
      </Box>
      {actions}
    </Group>
  );
}
