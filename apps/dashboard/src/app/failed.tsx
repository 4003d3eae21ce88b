import { Button, Container } from '@mantine/core';
import { Link, useRouter, type ErrorComponentProps } from '@tanstack/react-router';
import { NotFoundPage, Trouble } from '../parts/page.tsx';

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
    <NotFoundPage
      title="Page not found"
      heading="There is no page at this address"
      action={
        <Button component={Link} to="/" variant="default">
          Go to overview
        </Button>
      }
    >
      The address may be outdated or mistyped.
    </NotFoundPage>
  );
}
