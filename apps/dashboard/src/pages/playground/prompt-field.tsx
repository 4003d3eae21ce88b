import { Anchor, Text, Textarea } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { notifications } from '@mantine/notifications';
import { lazy, Suspense } from 'react';
import { ReferenceImages } from '../../parts/reference-images.tsx';
import type { ChangeDraft, Draft } from './draft.ts';
import { overlayKinds } from './overlay.ts';
import { REFERENCE_SHAPE, type Choices } from './settings.ts';

const OverlayPainter = lazy(async () => ({ default: (await import('./overlay-painter.tsx')).OverlayPainter }));

/** Id of the prompt field. */
export const PROMPT_ID = 'prompt';

interface PromptFieldProps {
  readonly draft: Draft;
  readonly choices: Choices;
  readonly onChange: ChangeDraft;
}

/** The prompt and the reference images. */
export function PromptField({ draft, choices, onChange }: PromptFieldProps) {
  const { prompt, files, overlay, settings, dropped } = draft;
  const kinds = overlayKinds(choices);
  const [painting, painter] = useDisclosure(false);
  return (
    <>
      <Textarea
        id={PROMPT_ID}
        label="Prompt"
        placeholder="A lighthouse in the fog, film photograph"
        autosize
        minRows={4}
        maxRows={12}
        required
        maxLength={32_000}
        value={prompt}
        onChange={(event) => onChange({ prompt: event.currentTarget.value })}
      />
      {choices.mostReferences > 0 ? (
        <ReferenceImages
          files={files}
          most={choices.mostReferences}
          painted={overlay?.kind}
          onPaint={kinds.length > 0 ? painter.open : undefined}
          onChange={(next) => {
            const [first] = files;
            if (overlay !== null && first !== undefined && first !== next[0] && next.includes(first)) {
              notifications.show({
                message: `The ${overlay.kind} was removed: it belonged to the image that was first.`,
              });
            }
            onChange({
              files: next,
              dropped: 0,
              // The note is about the images that were filled in.
              filled: null,
              ...(next[0] === files[0] ? {} : { overlay: null }),
              // Otherwise, the result would be cut to a shape that was chosen without the reference.
              ...(files.length === 0 ? { settings: { ...settings, size: REFERENCE_SHAPE } } : {}),
            });
          }}
        />
      ) : (
        files.length > 0 && (
          <Text size="sm" c="dimmed">
            {settings.model} takes no reference images. Yours are kept for other models.
          </Text>
        )
      )}
      {dropped > 0 && files.length === 0 && <Dropped count={dropped} onDismiss={() => onChange({ dropped: 0 })} />}
      {files.length > choices.mostReferences && choices.mostReferences > 0 && (
        <Text size="sm" c="dimmed">
          {settings.model} takes at most {choices.mostReferences} reference images. The others are kept for other
          models.
        </Text>
      )}
      {files[0] !== undefined && kinds.length > 0 && (
        <Suspense>
          <OverlayPainter
            opened={painting}
            file={files[0]}
            kinds={kinds}
            overlay={overlay}
            onDone={(painted) => onChange({ overlay: painted })}
            onClose={painter.close}
          />
        </Suspense>
      )}
    </>
  );
}

interface DroppedProps {
  readonly count: number;
  readonly onDismiss: () => void;
}

/** Without it, the same prompt would be ordered without its images. */
function Dropped({ count, onDismiss }: DroppedProps) {
  return (
    <Text size="sm" role="status">
      Reloading the page removed {count === 1 ? 'your reference image' : `your ${count} reference images`}. Add{' '}
      {count === 1 ? 'it' : 'them'} again to edit {count === 1 ? 'it' : 'them'}.{' '}
      <Anchor component="button" type="button" size="sm" underline="always" onClick={onDismiss}>
        Dismiss
      </Anchor>
    </Text>
  );
}
