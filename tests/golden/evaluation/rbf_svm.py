# rbf_svm.csv: decision values of scikit-learn's SVC (LIBSVM), gamma = 0.3; and gamma="scale".
import numpy as np
from sklearn.svm import SVC
rng=np.random.default_rng(2)
n,d,L=60,3,3
X=np.round(rng.standard_normal((n,d)),3); W=rng.standard_normal((d,L)); Y=((np.sin(X@W)+.5*rng.standard_normal((n,L)))>.2).astype(int)
T=np.round(rng.standard_normal((15,d)),3)
out=open("rbf_svm.csv","w")
def rows(kind,A):
    for r in A: print(kind,*["%.9g"%v for v in r],sep=",",file=out)
rows("x",X); rows("y",Y); rows("new",T); rows("gamma",[[1/(d*X.var())]])
for C in (1,100): rows(f"c={C}",np.array([SVC(C=C,gamma=.3,tol=1e-9).fit(X,Y[:,j]).decision_function(T) for j in range(L)]).T)
from sklearn.calibration import _sigmoid_calibration
f=np.array([-2.0, -1.2, -0.7, -0.1, 0.2, 0.9, 1.1, 2.5, -0.4, 0.6]); y=np.array([0,0,1,0,1,1,0,1,0,1])
print(_sigmoid_calibration(f,y))
