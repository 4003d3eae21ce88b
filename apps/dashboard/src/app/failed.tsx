import { Box, Button, Container } from '@mantine/core';
import { Link, useRouter, type ErrorComponentProps } from '@tanstack/react-router';
import { IconSearch } from '@tabler/icons-react';
import { Empty, PageFrame, Trouble } from '../parts/page.tsx';

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
    <PageFrame title="Page not found">
      <Box className="surface">
        <Empty
          icon={<IconSearch size={36} />}
          title="There is no page at this address"
          action={
            <Button component={Link} to="/" variant="default">
              Go to overview
            </Button>
          }
        >
          The address may be outdated or mistyped.
        </Empty>
      </Box>
    </PageFrame>
  );
}
