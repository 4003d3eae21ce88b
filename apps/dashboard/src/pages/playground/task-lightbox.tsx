import { useMay } from '../../api/queries.ts';
import { Lightbox, type LightboxImage } from '../../parts/lightbox.tsx';
import { DeleteTasks } from '../../parts/delete-tasks.tsx';
import { LightboxUses } from './lightbox-uses.tsx';
import { useOpenInPlayground } from './open-in-playground.ts';

interface TaskLightboxProps {
  readonly images: readonly LightboxImage[];
  readonly shown: number | null;
  readonly hasMore?: boolean;
  readonly onShow: (position: number) => void;
  readonly onClose: () => void;
}

/** The lightbox of pages other than the playground: using an image opens it there. */
export function TaskLightbox(props: TaskLightboxProps) {
  const mayUse = useMay()('tasks.create');
  const { again, reference } = useOpenInPlayground();
  return (
    <Lightbox
      {...props}
      uses={
        mayUse
          ? (task, index) => (
              <>
                <LightboxUses
                  task={task}
                  index={index}
                  onReference={() => reference([{ task, index }])}
                  onAgain={again}
                  onUsed={props.onClose}
                />
                <DeleteTasks ids={[task.id]} label="Delete" size="compact-sm" onDeleted={props.onClose} />
              </>
            )
          : undefined
      }
    />
  );
}
