class NoveltyDetector: pass
