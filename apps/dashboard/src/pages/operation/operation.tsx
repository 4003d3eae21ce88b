import { Box } from '@mantine/core';
import { useSession } from '../../api/queries.ts';
import { ServerIcon } from '../../parts/icons.tsx';
import { Empty, PageFrame } from '../../parts/page.tsx';
import { Failures } from './failures.tsx';
import { Providers } from './providers.tsx';
import { QueueState } from './queue-state.tsx';

/** For operators: who makes the pictures, what waits, and what went wrong, whosever tasks they are. */
export function OperationPage() {
  const { operator } = useSession();
  return (
    <PageFrame
      title="Providers and queue"
      about="Who makes the pictures, what waits, and what went wrong, in all accounts. The page keeps itself up to date."
    >
      {operator ? (
        <>
          <Providers />
          <QueueState />
          <Failures />
        </>
      ) : (
        <Box className="surface">
          <Empty icon={<ServerIcon size={36} />} title="This page is for operators">
            It is about the whole installation. Ask an admin of the account that runs it.
          </Empty>
        </Box>
      )}
    </PageFrame>
  );
}
