"""A Lightning training with what makes it survive: Environment, Requeue and the checkpoint of an earlier run."""
import os

import lightning
import strata.lightning
import torch


class Model(lightning.LightningModule):  # yours
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(16, 1)

    def training_step(self, batch, index):
        loss = self.layer(batch[0]).square().mean()
        self.log("loss", loss, prog_bar=True)
        return loss

    def configure_optimizers(self):
        return torch.optim.AdamW(self.parameters())


def main():
    data = torch.utils.data.TensorDataset(torch.randn(4096, 16))  # yours
    trainer = lightning.Trainer(
        max_epochs=10,
        num_nodes=int(os.environ.get("SLURM_JOB_NUM_NODES", 1)),
        plugins=[strata.lightning.Environment()],
        callbacks=[strata.lightning.Requeue()],
    )
    trainer.fit(Model(), torch.utils.data.DataLoader(data, batch_size=32), ckpt_path=strata.lightning.checkpoint())


main()
