import { Anchor, Box, Container } from '@mantine/core';
import { useRouter, type ErrorComponentProps } from '@tanstack/react-router';
import { IconSearch } from '@tabler/icons-react';
import { Empty, Trouble } from '../parts/page.tsx';

export function Failed({ error }: ErrorComponentProps) {
  const router = useRouter();
  const trouble = error instanceof Error ? error : new Error(String(error));
  return (
    <Container size="sm" py={80}>
      <Trouble error={trouble} doing="Could not show this page" onRetry={() => void router.invalidate()} />
    </Container>
  );
}

export function NotFound() {
  return (
    <Box py={40}>
      <Empty
        icon={<IconSearch size={36} />}
        title="Page not found"
        action={<Anchor href="/console/keys">Go to keys</Anchor>}
      >
        The address may be outdated or mistyped.
      </Empty>
    </Box>
  );
}
