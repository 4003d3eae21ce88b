import { Button } from '@mantine/core';
import { IconPhotoPlus, IconRefresh } from '@tabler/icons-react';
import type { TaskDetail } from '../../api/types.ts';
import { canBeReference } from './image-file.ts';

interface LightboxUsesProps {
  readonly task: TaskDetail;
  readonly index: number;
  /** Absent: the chosen model accepts no reference images. */
  readonly onReference: ((task: TaskDetail, index: number) => void) | undefined;
  readonly onAgain: (task: TaskDetail) => void;
  /** Closes the lightbox, before the form is filled in. */
  readonly onUsed: () => void;
}

/** Buttons of the lightbox that fill in the next order. */
export function LightboxUses({ task, index, onReference, onAgain, onUsed }: LightboxUsesProps) {
  return (
    <>
      {onReference !== undefined && canBeReference(task, index) && (
        <Button
          variant="default"
          size="compact-sm"
          h={34}
          leftSection={<IconPhotoPlus size={16} />}
          onClick={() => {
            onUsed();
            onReference(task, index);
          }}
        >
          Use as reference
        </Button>
      )}
      <Button
        variant="default"
        size="compact-sm"
        h={34}
        leftSection={<IconRefresh size={16} />}
        title="Fills in the same prompt and settings"
        onClick={() => {
          onUsed();
          onAgain(task);
        }}
      >
        Same again
      </Button>
    </>
  );
}
