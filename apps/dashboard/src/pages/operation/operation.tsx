import { Box } from '@mantine/core';
import { useSession } from '../../api/queries.ts';
import { IconServer } from '@tabler/icons-react';
import { Empty, PageFrame } from '../../parts/page.tsx';
import { Failures } from './failures.tsx';
import { Providers } from './providers.tsx';
import { QueueState } from './queue-state.tsx';

/** For operators: who makes the images, what waits, and what went wrong, whosever tasks they are. */
export function OperationPage() {
  const { operator } = useSession();
  return (
    <PageFrame
      title="Providers and queue"
      about="Providers, queue, and failed tasks across all accounts. Updates automatically."
    >
      {operator ? (
        <>
          <Providers />
          <QueueState />
          <Failures />
        </>
      ) : (
        <Box className="surface">
          <Empty icon={<IconServer size={36} />} title="Operators only">
            This page covers the whole installation. Ask an admin of the account that runs it.
          </Empty>
        </Box>
      )}
    </PageFrame>
  );
}
