import { Center } from '@mantine/core';
import type { UseInfiniteQueryResult } from '@tanstack/react-query';
import { BusyButton } from './busy.tsx';

type Pages = Pick<UseInfiniteQueryResult, 'hasNextPage' | 'isFetchingNextPage' | 'fetchNextPage'>;

/** A button below a list that loads its next page, if there is one. */
export function ShowMore({ of: { hasNextPage, isFetchingNextPage, fetchNextPage } }: { readonly of: Pages }) {
  if (!hasNextPage) return null;
  return (
    <Center>
      <BusyButton variant="default" busy={isFetchingNextPage} onClick={() => void fetchNextPage()}>
        Show more
      </BusyButton>
    </Center>
  );
}
