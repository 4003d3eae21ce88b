import { useSession } from '../../api/queries.ts';
import { IconServer } from '@tabler/icons-react';
import { OperatorsOnly, PageFrame } from '../../parts/page.tsx';
import { Failures } from './failures.tsx';
import { Providers } from './providers.tsx';
import { QueueState } from './queue-state.tsx';

/** For operators: who makes the images, what waits, and what went wrong, whosever tasks they are. */
export function OperationPage() {
  const { operator } = useSession();
  if (!operator) return <OperatorsOnly title="Providers and queue" icon={<IconServer size={36} />} />;
  return (
    <PageFrame
      title="Providers and queue"
      about="Providers, queue, and failed tasks across all accounts. Updates automatically."
    >
      <Providers />
      <QueueState />
      <Failures />
    </PageFrame>
  );
}
