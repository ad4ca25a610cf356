"""AUC of novelty on TDT2 against the paper's best."""

from common import data, dictmesh

NAMES = ["documents-auc"]
ABOUT = "AUC of novel documents in TDT2, mean of five seeds"

BARS = {"1": 0.79, "2": 0.94, "5": 0.92, "6": 0.96, "8": 0.94, "mean": 0.93}


def rows(program, threads):
    directory = data("tdt2.npz", "tdt2_labels.csv")
    found, seconds = dictmesh(program, threads, "reproduce", "documents", "--data", directory)
    aucs = {str(row["step"]): row["auc"] for row in found["auc"]}
    for step, bar in BARS.items():
        auc = found["mean"] if step == "mean" else aucs[step]
        yield {
            "bench": "documents-auc",
            "case": step if step == "mean" else f"step {step}",
            "ours": auc,
            "bar": bar,
            "ok": auc >= bar,
            "ours_s": seconds,
        }
